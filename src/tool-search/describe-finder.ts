import { countBytes, cutText, takeStart, type ToolDefinition } from "../core/entry-kit.ts";

const intro =
  "Finds tools that are not shown here, and shows them to you from your next step on. Use it before you say that you cannot do something. Pass words about the task, or exact names.";
const explanation = 'The tools to find, where "a_: b, c" means a_b and a_c:';
const singles = "others";

/** Lower than in estimates of ordinary text, because a name has more tokens than a sentence of the same length. */
const bytesPerToken = 3;
const longestName = 64;
/** A larger group is split, because the model would see only the beginning of one long list. */
const mostInGroup = 40;

interface Group {
  readonly prefix: string;
  readonly names: readonly string[];
}

/**
 * Returns the definition of `find_tools`, whose description lists the names of the deferred tools as far as they fit. The JSON of
 * the definition has at most `maxTokens` estimated tokens.
 */
export function describeFinder(
  definition: ToolDefinition,
  deferred: readonly ToolDefinition[],
  maxTokens: number,
): ToolDefinition {
  const withText = (description: string): ToolDefinition => Object.freeze({ ...definition, description });
  const empty = JSON.stringify(withText(`${intro} ${explanation}`));
  const groups = toGroups(deferred.map(({ name }) => toLine(name, longestName)));
  const listing = fitListing(groups, maxTokens * bytesPerToken - countBytes(empty));
  return withText(`${intro} ${explanation}${listing}`);
}

/**
 * Lists as many names of each group as fit. If even the sizes of all groups do not fit, lists the sizes of the largest groups.
 */
function fitListing(groups: readonly Group[], bytes: number): string {
  const fits = (text: string): boolean => countBytes(JSON.stringify(text)) - 2 <= bytes;
  const largest = Math.max(...groups.map(({ names }) => names.length));
  const listed = writeMost(largest, (most) => writeGroups(groups, most), fits);
  if (fits(listed)) return listed;
  const bySize = [...groups].sort((one, other) => other.names.length - one.names.length);
  const writeLargest = (count: number): string => {
    const left = bySize.slice(count).reduce((sum, { names }) => sum + names.length, 0);
    return `${writeGroups(bySize.slice(0, count), 0)}\nand ${left} more tools`;
  };
  return writeMost(bySize.length, writeLargest, fits);
}

/** Returns `write(count)` for the largest count up to `most` that fits, or `write(0)` if none fits. */
function writeMost(most: number, write: (count: number) => string, fits: (text: string) => boolean): string {
  // The search below does not include `most`: the text for `most` has no "and 3 more", so it may be shorter than the text for
  // `most - 1`.
  const everything = write(most);
  if (fits(everything)) return everything;
  let [low, high] = [0, most];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (fits(write(middle))) low = middle;
    else high = middle;
  }
  return write(low);
}

function writeGroups(groups: readonly Group[], most: number): string {
  return groups.map((group) => `\n${writeGroup(group, most)}`).join("");
}

function writeGroup({ prefix, names }: Group, most: number): string {
  if (most === 0) return `${prefix}: ${names.length} tools`;
  const left = names.length - most;
  return `${prefix}: ${names.slice(0, most).join(", ")}${left > 0 ? ` and ${left} more` : ""}`;
}

/**
 * Groups names by their first part: "github_" for `github_create_issue`. The result does not depend on the order of the names.
 */
function toGroups(names: readonly string[]): readonly Group[] {
  const groups = split({ prefix: "", names: [...names].sort() });
  const alone = groups.filter((group) => group.prefix === "");
  const shared = groups.filter((group) => group.prefix !== "");
  return [...shared, ...alone.map((group) => ({ ...group, prefix: singles }))];
}

/**
 * Splits a group by the next part of its names: names with the same next part become a group. All names whose next part is unique
 * become one more group.
 */
function split({ prefix, names }: Group): readonly Group[] {
  const parts = new Map<string, string[]>();
  for (const name of names) {
    const part = /^[^_-]+[_-]+/.exec(name)?.[0] ?? "";
    const members = parts.get(part);
    if (members === undefined) parts.set(part, [name]);
    else members.push(name);
  }
  const alone: string[] = [];
  const groups: Group[] = [];
  for (const [part, members] of parts) {
    if (part === "" || members.length === 1) alone.push(...members);
    else {
      const group = { prefix: prefix + part, names: members.map((name) => name.slice(part.length)) };
      groups.push(...(members.length > mostInGroup ? split(group) : [group]));
    }
  }
  return alone.length === 0 ? groups : [...groups, { prefix, names: alone.sort() }];
}

export function toLine(text: string, longest: number): string {
  // The text is cut before the replacement, because a text from a server may be of any length.
  const start = takeStart(text, longest * 4);
  const line = start.replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, " ").trim();
  return cutText(start.length < text.length ? `${line}…` : line, longest);
}
