/** Returns the value of `node --import` for a TypeScript file: the loader of compiled programs, or tsx if nothing compiled them. */
export function programLoader(): string {
  return process.env["PROGRAM_LOADER"] ?? "tsx";
}
