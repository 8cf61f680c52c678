#!/bin/sh
# A grid of `punctual lab` as a job array of Slurm: sbatch slurm.sh. Not tried.
# All jobs write to one directory, which they must share; `gather` below prints the whole when the last has ended.
#SBATCH --job-name=punctual-lab
#SBATCH --array=1-4
#SBATCH --cpus-per-task=1
#SBATCH --mem=2G
#SBATCH --time=02:00:00

lab() {
    punctual lab run --kernel 6.12 --kernel 6.12-rt --load network --load disk --seeds 1..5 -o "$HOME/lab-grid" --jobs 1 "$@" -- record -D 10s
}

# gather: sh slurm.sh
if [ -z "$SLURM_ARRAY_TASK_ID" ]; then
    lab --html "$HOME/lab-grid.html"
else
    lab -q --shard "$SLURM_ARRAY_TASK_ID/4"
fi
