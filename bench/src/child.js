// Measures one workload in a process of its own and sends its rows to the parent.
const { measureWorkload } = await import(`./workloads/${process.argv[2]}.js`);
const rows = await measureWorkload();
// Ends here, because a deaf tool may still hold a timer.
process.send?.(rows, () => process.exit(0));
