# Sets up, in the namespaces of an isolated supervisor, what a node needs.
set -eu

# Files that programs keep at fixed places, and the kernel's settings that
# kubelet changes, go into the run's folder instead.
mkdir -p "$FOLDER"/fixed/run "$FOLDER"/fixed/log "$FOLDER"/fixed/lib "$FOLDER"/fixed/sys
mount --bind "$FOLDER/fixed/run" /run
mount --bind "$FOLDER/fixed/log" /var/log
mount --bind "$FOLDER/fixed/lib" /var/lib
for setting in kernel/panic kernel/panic_on_oops vm/overcommit_memory vm/panic_on_oom \
  kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  [ -e "/proc/sys/$setting" ] || continue
  file=$FOLDER/fixed/sys/$(basename "$setting")
  cat "/proc/sys/$setting" >"$file"
  mount --bind "$file" "/proc/sys/$setting"
done

# The containers' control groups have a common parent. Those of version 1 are
# several hierarchies, and the one for CPU sets begins with none.
for hierarchy in /sys/fs/cgroup /sys/fs/cgroup/*/; do
  [ -e "$hierarchy/cgroup.procs" ] || continue
  group=$hierarchy/$CONTROL_GROUP
  mkdir -p "$group"
  for set in cpuset.cpus cpuset.mems; do
    if [ -e "$group/$set" ] && [ ! -e "$hierarchy/cgroup.controllers" ]; then
      cat "$hierarchy/$set" >"$group/$set"
    fi
  done
done

# The other end of the cable is the machine's.
ip link set lo up
ip address add "$NODE_IP/30" dev node0
ip link set node0 up
ip route add default via "$MACHINE_IP"
echo 1 >/proc/sys/net/ipv4/ip_forward
