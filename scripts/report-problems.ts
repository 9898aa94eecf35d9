// How a gate ends: nothing to say and exit code 0, or every problem on a line of its own and exit code 1.

/** Prints the problems. If there are any, the process fails. */
export function reportProblems(problems: readonly string[]): void {
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
