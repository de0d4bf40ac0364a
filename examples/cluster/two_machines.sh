#!/bin/sh
# Runs a program of MPI on two machines, which are network namespaces of this one: each has its own network and name, and
# nothing connects the two but a cable (veth).
#
#   sh examples/cluster/two_machines.sh -np 2 -x LD_PRELOAD=... PROGRAM ARGUMENTS...
#
# The arguments are mpirun's. The processes are dealt out in turn, and those of the second machine have no variables of the
# environment but what -x names, as over ssh. Needs Open MPI, iproute2 and util-linux, and the right to make namespaces;
# ends with 77 and says so without them. Nothing is left when it ends.
set -eu
mpirun=$(command -v mpirun.openmpi || echo mpirun) # Debian's name, where there is more than one MPI

if [ "${1:-}" != --inside ]; then
    for tool in "$mpirun" ip hostname unshare nsenter; do
        command -v "$tool" >/dev/null && continue
        echo "skipped: no $tool here (Debian: openmpi-bin, iproute2, util-linux)"
        exit 77
    done
    # Namespaces that end with what they are for; a user gets them as root of yet another one.
    alone='--fork --kill-child --pid --mount --mount-proc --net --uts'
    [ "$(id -u)" -eq 0 ] || alone="--user --map-root-user $alone"
    # shellcheck disable=SC2086
    if ! why=$(unshare $alone ip link add left type veth peer name right 2>&1); then
        echo "skipped: no network namespaces here, which take root or CAP_NET_ADMIN: $why"
        exit 77
    fi
    # shellcheck disable=SC2086
    exec unshare $alone sh "$0" --inside "$@"
fi
shift

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unshare --net --uts sleep 2147483647 & # the second machine is there as long as this is
second=$!
until [ "$(readlink "/proc/$second/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
on_second="nsenter --target $second --net --uts"

ip link add left type veth peer name right netns "$second"
ip address add 10.77.0.1/24 dev left
ip link set left up
ip link set lo up
$on_second ip address add 10.77.0.2/24 dev right
$on_second ip link set right up
$on_second ip link set lo up
hostname first
$on_second hostname second

# What mpirun calls as it would ssh: HOST COMMAND...
cat >"$folder/agent" <<TEXT
#!/bin/sh
shift
exec $on_second env -i PATH="$PATH" HOME="${HOME:-/}" \\
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -c "\$*"
TEXT
chmod +x "$folder/agent"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
"$mpirun" --host 10.77.0.1:64,10.77.0.2:64 --map-by node --bind-to none \
    --mca plm_rsh_agent "$folder/agent" --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 \
    --mca oob_tcp_if_include 10.77.0.0/24 --mca orte_tmpdir_base "$folder" "$@"
