# Sourced: `cluster_start DIR` starts munge, a controller and two virtual nodes on this machine, bound to the loopback, everything
# under DIR; `cluster_stop` ends exactly those. No systemd, no root needed: the daemons run as the user of the test.
PATH=$PATH:/usr/sbin:/sbin

cluster_port() { # a free port below the ephemeral ones
  python3 - << 'PY'
import random, socket
while True:
    port = random.randrange(20000, 32000)
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            continue
    print(port)
    break
PY
}

cluster_start() {
  cluster=$1
  user=$(id -un) host=$(hostname -s)
  for program in munged slurmctld slurmd sbatch squeue; do
    command -v $program > /dev/null || { echo "slurm: no $program; run tools/test --packages or install slurm-wlm and munge" >&2 && return 1; }
  done
  getent hosts "$host" > /dev/null || { echo "slurm: the host name $host does not resolve; add it to /etc/hosts" >&2 && return 1; }
  mkdir -p "$cluster/etc" "$cluster/run" "$cluster/state" "$cluster/log"
  chmod 755 "$cluster/run"
  dd if=/dev/urandom of="$cluster/etc/munge.key" bs=1024 count=1 2> /dev/null
  chmod 600 "$cluster/etc/munge.key"
  munged --force --key-file="$cluster/etc/munge.key" --socket="$cluster/run/munge.socket" --pid-file="$cluster/run/munged.pid" \
    --log-file="$cluster/log/munged.log" --seed-file="$cluster/run/munge.seed"
  cat > "$cluster/etc/slurm.conf" << CONF
ClusterName=calkit
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(cluster_port)
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$cluster/run/munge.socket
CryptoType=crypto/munge
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool-%n
SlurmctldPidFile=$cluster/run/slurmctld.pid
SlurmdPidFile=$cluster/run/slurmd-%n.pid
SlurmctldLogFile=$cluster/log/slurmctld.log
SlurmdLogFile=$cluster/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
SchedulerParameters=sched_interval=1,batch_sched_delay=0
NodeName=n0 NodeHostname=$host NodeAddr=127.0.0.1 Port=$(cluster_port) CPUs=1 RealMemory=500
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$(cluster_port) CPUs=1 RealMemory=500
PartitionName=cpu Nodes=n[0-1] Default=YES MaxTime=INFINITE State=UP
CONF
  # Slurm 23 and later look for a cgroup that a container may not have; earlier ones do not know this word.
  case $(slurmd -V) in *" 2"[0-2].*) ;; *) echo "CgroupPlugin=disabled" > "$cluster/etc/cgroup.conf" ;; esac
  export SLURM_CONF=$cluster/etc/slurm.conf
  slurmctld
  slurmd -N n0
  slurmd -N n1
  for _ in $(seq 100); do
    [ "$(sinfo -h -o %T 2> /dev/null)" = idle ] && return 0
    sleep 0.2
  done
  echo "slurm: the nodes are not idle after 20 s: $(sinfo -h -o '%n %T %E' 2>&1)" >&2
  tail -n 5 "$cluster"/log/*.log >&2
  return 1
}

cluster_stop() {
  for pid_file in "$cluster"/run/slurmd-*.pid "$cluster/run/slurmctld.pid" "$cluster/run/munged.pid"; do
    [ -f "$pid_file" ] || continue
    pid=$(cat "$pid_file")
    kill "$pid" 2> /dev/null || continue
    for _ in $(seq 50); do
      kill -0 "$pid" 2> /dev/null || break
      sleep 0.1
    done
    kill -KILL "$pid" 2> /dev/null || true
  done
}
