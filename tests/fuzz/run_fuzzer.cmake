# Runs a fuzz target on a fresh copy of its corpus, for CTest.
# FUZZER the executable, CORPUS its seeds (only read), SCRATCH a folder to write to, SECONDS how long.
file(REMOVE_RECURSE ${SCRATCH})
file(COPY ${CORPUS}/ DESTINATION ${SCRATCH}/corpus)
execute_process(
  COMMAND ${FUZZER} -max_total_time=${SECONDS} -seed=1 -rss_limit_mb=2048 -max_len=4096
          -artifact_prefix=${SCRATCH}/ -print_final_stats=1 ${SCRATCH}/corpus
  RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${FUZZER} found a fault (${result}); the input is in ${SCRATCH}")
endif()
