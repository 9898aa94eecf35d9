// Preloaded into each process of the workload "cold-import". Prints the CPU time of the process in microseconds when the
// process exits.
process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  process.stdout.write(String(user + system));
});
