// Measures one workload in this process, and sends the rows to the parent process.
const { measureWorkload } = await import(`./workloads/${process.argv[2]}.js`);
const rows = await measureWorkload();
// Exits explicitly, because a tool that ignores its abort signal may still hold a timer.
process.send?.(rows, () => process.exit(0));
