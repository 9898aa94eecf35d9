// Prints the problems that a check found, one per line, and exits with code 1. If there are none, exits with code 0.

export function reportProblems(problems: readonly string[]): void {
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
