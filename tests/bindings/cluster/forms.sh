# shellcheck shell=sh
# What scripts share that run programs of several processes. They set `library`, the one to preload, and `folder`, that of
# libblas.so.3, which may be empty.
export OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Debian's name, where there is more than one MPI.
mpirun=$(command -v mpirun.openmpi || echo mpirun)
failed=0
wrong() {
    printf '%s\n%s\n\n' "$*" "$said"
    failed=1
}
# over FORM   sets `form`, the arguments of mpirun for it.
over() {
    case $1 in
    preload) form="-x LD_PRELOAD=$library" ;;
    in_place) form="-x LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;;
    esac
}
forms=preload
[ -z "$folder" ] || forms="preload in_place"
# calls ROUTINE   how often all processes called it, as their reports say; nothing, if one was left to the BLAS beneath.
calls() {
    printf '%s\n' "$said" | awk -v routine="$1" '
        $1 == routine { sum += $2; beneath += $3 }
        END { if (sum && !beneath) print sum }'
}
