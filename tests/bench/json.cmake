# What bench_host says to Google Benchmark: cmake -DPROGRAM=... -DCASES=bench/cases/host.txt -P json.cmake. Its cases are
# those of the file, and the JSON of a small one has the counters. The peer is compiled into the program.
execute_process(COMMAND "${PROGRAM}" --threads=1,2 --benchmark_list_tests
                OUTPUT_VARIABLE listed COMMAND_ERROR_IS_FATAL ANY)
file(READ "${CASES}" expected)
if(NOT listed STREQUAL expected)
    message(FATAL_ERROR "${CASES} has other cases than the program; bench/cases.sh --renew host ${PROGRAM} --threads=1,2")
endif()
execute_process(COMMAND "${PROGRAM}" --threads=1 --rounds=2 --benchmark_filter=batched_in_L1/4x4 --benchmark_format=json
                OUTPUT_VARIABLE json COMMAND_ERROR_IS_FATAL ANY)
string(JSON name GET "${json}" benchmarks 0 name)
if(NOT name STREQUAL "batched_in_L1/4x4/threads:1/iterations:2/manual_time")
    message(FATAL_ERROR "the first case is ${name}")
endif()
foreach(counter IN ITEMS real_time GFLOP/s peak ratio error "inlined code" "inlined code error")
    string(JSON value GET "${json}" benchmarks 0 "${counter}")
    if(NOT value GREATER 0)
        message(FATAL_ERROR "${counter} is ${value}")
    endif()
endforeach()
string(JSON processor GET "${json}" context processor)
message("${name} on ${processor}")
