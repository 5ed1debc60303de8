# Checks that README.md shows what the repository holds: its example is the compiled one, its test commands are the ones that
# .ci/run runs.
#
#   cmake -DROOT=<repository> -P check_readme.cmake

cmake_minimum_required(VERSION 3.25)

file(READ ${ROOT}/README.md readme)

# check_example(<file> <region>): README has, as a C++ block, the lines between `// [<region>]` and `// [/<region>]`.
function(check_example file region)
  file(READ ${ROOT}/${file} text)
  string(FIND "${text}" "// [${region}]\n" begin)
  string(FIND "${text}" "// [/${region}]\n" end)
  if(begin EQUAL -1 OR end EQUAL -1)
    message(FATAL_ERROR "${file}: no region '${region}'")
  endif()
  string(LENGTH "// [${region}]\n" marker)
  math(EXPR begin "${begin} + ${marker}")
  math(EXPR length "${end} - ${begin}")
  string(SUBSTRING "${text}" ${begin} ${length} code)
  string(FIND "${readme}" "```cpp\n${code}```\n" found)
  if(found EQUAL -1)
    message(SEND_ERROR "README.md does not show the region '${region}' of ${file} as it is. It should have:\n${code}")
  endif()
endfunction()

check_example(tests/examples/host_example.cpp example)

file(READ ${ROOT}/.ci/run ci)
foreach(command "cmake --preset ci" "cmake --build --preset ci -j2" "ctest --preset ci -L host")
  foreach(where readme ci)
    string(FIND "${${where}}" "${command}" found)
    if(found EQUAL -1)
      message(SEND_ERROR "${where}: it does not run '${command}', as the other does")
    endif()
  endforeach()
endforeach()

# The packages that README installs are the ones that .ci/run asks for.
if(NOT readme MATCHES "apt-get install -y ([^\n&\\]+)")
  message(FATAL_ERROR "README.md: no apt-get install line")
endif()
string(STRIP "${CMAKE_MATCH_1}" packages)
string(FIND "${ci}" "packages=(${packages})" found)
if(found EQUAL -1)
  message(SEND_ERROR ".ci/run does not have packages=(${packages}), which README.md installs")
endif()

# The table of ratios is that of docs/results/host/ratios.json: per file, dense / compressed bytes to three digits.
file(READ ${ROOT}/docs/results/host/ratios.json ratios)
string(JSON num_ratios LENGTH "${ratios}")
math(EXPR last "${num_ratios} - 1")
foreach(i RANGE ${last})
  string(JSON file GET "${ratios}" ${i} file)
  string(JSON codec GET "${ratios}" ${i} codec)
  string(JSON dense GET "${ratios}" ${i} dense_bytes)
  string(JSON compressed GET "${ratios}" ${i} compressed_bytes)
  math(EXPR thousandths "(2000 * ${dense} + ${compressed}) / (2 * ${compressed})")
  string(REGEX REPLACE "([0-9][0-9][0-9])$" ".\\1" ratio "${thousandths}")
  string(REGEX MATCH "layer([0-9]+)" layer "${file}")
  set(layer ${CMAKE_MATCH_1})
  set(ratio_${layer}_${codec} ${ratio})
  list(APPEND layers ${layer})
endforeach()
list(REMOVE_DUPLICATES layers)
foreach(layer IN LISTS layers)
  set(row "| ${ratio_${layer}_fast} | ${ratio_${layer}_sign} | ${ratio_${layer}_compact} |")
  string(REGEX MATCH "\n\\| ${layer} [^\n]*" found "${readme}")
  string(FIND "${found}" "${row}" at)
  if(at EQUAL -1)
    message(SEND_ERROR "README.md: layer ${layer} should have '${row}', as docs/results/host/ratios.json says; it has '${found}'")
  endif()
endforeach()
