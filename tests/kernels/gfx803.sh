#!/bin/sh
# gfx803.sh FOLDER: compiles the sources in FOLDER for gfx803 (Polaris), reads the instructions of the main loop, and
# prints a line for each. Fails where a built-in tile spills, needs scratch or more than 128 registers, calls
# functions, or where the main tile (128x128, float, row-major) misses its marks. Exits with 77 without a compiler.
#
# The model. A SIMD issues one vector instruction (VALU) of a wave in 4 clocks; the 4 SIMDs of a compute unit share
# local memory (LDS), which moves 128 bytes a clock. Waves on a SIMD: as registers (256) and local memory (64 KiB a
# unit) allow. One turn of the main loop, for all waves of a SIMD, takes the longer of
#     waves x VALU x 4      and      4 SIMDs x waves x bytes of LDS / 128,
# but no less than one wave alone, all of its instructions x 4 and what nothing hides then: 168 clocks, for the
# barrier and the first read after it. With one wave those 168 come on top. Percent of peak is
# waves x MAC x 4 / that time: what the instructions allow. Memory beyond LDS, bank conflicts, and what is before and
# behind the loop are left out, and waves of other groups are taken to fill the time that one group is at a barrier.
set -u
folder=${1:?usage: gfx803.sh FOLDER}
clang=$(command -v clang-19) && command -v ld.lld-19 >/dev/null || {
    echo "skipped: no clang-19 and lld-19 here"
    exit 77
}
libraries=${ROCM_DEVICE_LIBS:-/usr/lib/x86_64-linux-gnu/amdgcn/bitcode}
[ -f "$libraries/ockl.bc" ] || {
    echo "skipped: no ROCm device libraries in $libraries"
    exit 77
}

printf '%-38s %5s %5s %7s %6s %5s %8s %8s %8s %8s %6s\n' \
    source VGPRs spill scratch LDS waves MAC/all MAC/VALU LDS/VALU prefetch peak
status=0
for source in "$folder"/gfx803-*.cl; do
    name=$(basename "$source" .cl)
    # Doubles and complex numbers are compiled and held to the same limits; the model is for float.
    "$clang" -x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -mcpu=gfx803 -O3 -S --rocm-device-lib-path="$libraries" \
        -Xclang -finclude-default-header -Rpass-analysis=kernel-resource-usage "$source" \
        -o "$folder/$name.s" 2>"$folder/$name.log" || {
        cat "$folder/$name.log"
        status=1
        continue
    }
    threads=$(awk '/define THREADS_M/ { m = $3 } /define THREADS_N/ { n = $3 } END { print m * n }' "$source")
    awk -v name="$name" -v threads="$threads" '
        function note(key) { sub(/ *\[-Rpass.*/, ""); sub(/.*: */, ""); seen[key] = $0 + 0 }
        FILENAME ~ /\.log$/ {
            if (/ VGPRs:/) note("vgprs")
            else if (/VGPRs Spill:/) note("spill")
            else if (/ScratchSize/) note("scratch")
            else if (/LDS Size/) note("lds")
            next
        }
        /s_swappc/ { calls = 1 }
        /\.reqd_workgroup_size|amdhsa_/ { next }
        # A basic block ends at a label or at a branch back.
        /^\.LBB/ { n++ }
        /^\t[a-z]/ {
            op = $1
            all[n]++
            if (op ~ /^v_/) valu[n]++
            if (op ~ /^v_(mac|mad|fma)_f(32|64)/) { mac[n]++; if (waiting[n]) distance[n]++ }
            if (op ~ /^(flat|global|buffer)_load/) { waiting[n] = 1; distance[n] = 0 }
            if (op == "s_waitcnt" && /vmcnt/ && waiting[n]) waiting[n] = 0
            if (op ~ /^ds_(read|write)/) {
                bytes = op ~ /b128/ ? 16 : op ~ /b64/ ? 8 : 4
                if (op ~ /2(st64)?_/) bytes *= 2
                lds[n] += bytes * 64
            }
        }
        END {
            loop = 0
            for (b in mac) if (mac[b] > mac[loop]) loop = b
            group_waves = threads / 64
            waves = int(256 / (int((seen["vgprs"] + 3) / 4) * 4)); if (waves > 10) waves = 10
            fit = int(65536 / seen["lds"]) * group_waves / 4; if (fit < waves) waves = fit
            if (waves > 10) waves = 10
            issue = waves * valu[loop] * 4; shared = 4 * waves * lds[loop] / 128
            time = issue > shared ? issue : shared
            alone = all[loop] * 4 + 168
            if (waves <= 1) time += 168
            if (alone > time) time = alone
            percent = 100 * waves * mac[loop] * 4 / time
            is_float = name ~ /-s-|-point-/
            ratio = lds[loop] / 32 / (valu[loop] * 4)
            printf "%-38s %5d %5d %7d %6d %5.1f ", name, seen["vgprs"], seen["spill"], seen["scratch"], seen["lds"], waves
            if (is_float)
                printf "%8.3f %8.3f %8.3f %8d %5.0f%%\n", mac[loop] / all[loop], mac[loop] / valu[loop],
                    ratio, distance[loop], percent
            else
                printf "\n"
            built_in = name !~ /-point-/
            if (calls) { print name ": calls functions: the figures mean nothing"; bad = 1 }
            if (built_in && (seen["spill"] > 0 || seen["scratch"] > 0 || seen["vgprs"] > 128)) {
                print name ": spills, needs scratch, or needs more than 128 registers"; bad = 1
            }
            if (name == "gfx803-s-128x128x8-rows" &&
                (waves < 2 || mac[loop] < 0.95 * valu[loop] || mac[loop] < 0.84 * all[loop] || ratio > 0.6 ||
                 distance[loop] < 256 || percent < 75)) {
                print name ": misses its marks: 2 waves, MAC/VALU 0.95, MAC/all 0.84, LDS/VALU 0.6, prefetch 256, 75%"
                bad = 1
            }
            exit bad
        }' "$folder/$name.log" "$folder/$name.s" || status=1
done

# Whether pairs of halves are multiplied at once: what 64 multiply-adds of pairs become.
cat >"$folder/pairs.cl" <<'TEXT'
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void multiply_pairs(global half2 *x, half2 a) {
    half2 sum = x[get_global_id(0)];
#pragma unroll
    for (int i = 0; i < 64; ++i) sum = fma(sum, a, a);
    x[get_global_id(0)] = sum;
}
TEXT
"$clang" -x cl -cl-std=CL1.2 -target amdgcn-amd-amdhsa -mcpu=gfx803 -O3 -S --rocm-device-lib-path="$libraries" \
    -Xclang -finclude-default-header "$folder/pairs.cl" -o "$folder/pairs.s" || status=1
printf '64 multiply-adds of pairs of halves: %d for one half, %d for a pair\n' \
    "$(grep -cE '^[[:space:]]v_(fma|mac|mad)_f16' "$folder/pairs.s")" "$(grep -cE '^[[:space:]]v_pk_fma_f16' "$folder/pairs.s")"
exit $status
