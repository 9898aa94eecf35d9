import type { Adapter } from "./adapters.ts";
import { no, type ProbeGroup } from "./probe-kit.ts";

/** A column of a table. If all adapters of the column have the same result, a cell has only one text. */
export interface Column {
  readonly title: string;
  readonly adapters: readonly Adapter[];
}

/** The result of a probe with one adapter. `variant` names the adapter in a column with several adapters. */
interface Found {
  readonly variant: string;
  readonly said: string;
}

export function toCell(found: readonly Found[]): string {
  const variantsBy = new Map<string, string[]>();
  for (const { variant, said } of found) variantsBy.set(said, [...(variantsBy.get(said) ?? []), variant]);
  const [[only = no] = []] = variantsBy;
  if (variantsBy.size === 1) return only;
  return [...variantsBy]
    .filter(([said]) => said !== no)
    .map(([said, variants]) => `${said} (${variants.join(", ")})`)
    .join("; ");
}

export type Cells = ReadonlyMap<string, readonly string[]>;

export const keyOf = (group: ProbeGroup, title: string): string => `${group.title} / ${title}`;

export function toTables(groups: readonly ProbeGroup[], columns: readonly Column[], cells: Cells): string {
  const row = (...texts: readonly string[]): string => `| ${texts.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
  const tables = groups.map((group) => {
    const head = ["", ...columns.map(({ title }) => `\`${title}\``)];
    const rows = group.probes.map(({ title }) => row(title, ...(cells.get(keyOf(group, title)) ?? ["?"])));
    const about = group.about === "" ? [] : [group.about, ""];
    return [`## ${group.title}`, "", ...about, row(...head), `|${head.map(() => "---|").join("")}`, ...rows].join("\n");
  });
  return tables.join("\n\n");
}
