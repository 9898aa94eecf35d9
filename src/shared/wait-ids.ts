/**
 * Removes the numbers from the end of a wait's id: the number of a call's later question, as in `#2`, and the number of a wait that opened
 * again, as in `~3`.
 */
export function withoutRepeats(id: string): string {
  return id.replace(/(#\d+)?(~\d+)?$/, "");
}
