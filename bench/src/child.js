// Measures the workload that the first argument names, and sends the results to the parent process.
const { measureWorkload } = await import(`./workloads/${process.argv[2]}.js`);
const rows = await measureWorkload();
// A tool that ignores its abort signal may still hold a timer, which would keep this process alive.
process.send?.(rows, () => process.exit(0));
