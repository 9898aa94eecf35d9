// Names of tools as services take them.

/** Models make names up; one with other characters in the history would make the service refuse every later request. */
export function toWireName(name: string): string {
  return name.replace(/[^\w-]/g, "_").slice(0, 64) || "_";
}
