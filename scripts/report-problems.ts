// Reports the result of a gate. Without problems, prints nothing and exits with code 0. Otherwise, prints one problem per line
// and exits with code 1.

/** Prints problems. If there are any, sets the exit code to 1. */
export function reportProblems(problems: readonly string[]): void {
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
