// Excludes paths that .gitignore lists, and files that no model should read, such as keys. Supports most of the syntax of
// .gitignore.

/** Folders in the path are separated by "/". A path is also ignored if one of its parent folders is ignored. */
export type IgnoreRules = (path: string) => boolean;

interface Rule {
  /** The pattern, split at each "/". The segment "**" matches any number of folders. */
  readonly segments: readonly string[];
  readonly isNegated: boolean;
  readonly isFolderOnly: boolean;
}

/** The paths that are ignored in every repository. They are no source code, or may contain secrets. */
const always = parseRules(".git\nnode_modules\ndist\n.env\n.env.*\n.npmrc\n*.pem\n*.key\nid_rsa*\nid_ed25519*");

/** Makes the rules of a repository from the text of its .gitignore. Reads character classes such as `[a-z]` as plain text. */
export function createIgnoreRules(gitignore: string): IgnoreRules {
  const rules = parseRules(gitignore);
  return (path) => {
    const segments = path.split("/").filter((segment) => segment !== "");
    return segments.some((_, index) => {
      const prefix = segments.slice(0, index + 1);
      const isFolder = index + 1 < segments.length;
      // On some file systems, ".ENV" and ".env" are the same file.
      const inLowerCase = prefix.map((segment) => segment.toLowerCase());
      return isHitBy(always, inLowerCase, isFolder) || isHitBy(rules, prefix, isFolder);
    });
  };
}

function parseRules(text: string): readonly Rule[] {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "" && !line.startsWith("#")).map(parseRule);
}

function parseRule(line: string): Rule {
  const isNegated = line.startsWith("!");
  const pattern = line.slice(isNegated ? 1 : 0);
  const isFolderOnly = pattern.endsWith("/");
  const segments = pattern.split("/").filter((segment) => segment !== "");
  const isAnchored = pattern.replace(/\/$/, "").includes("/");
  return { segments: isAnchored ? segments : ["**", ...segments], isNegated, isFolderOnly };
}

/** If several rules match the path, the last rule decides. */
function isHitBy(rules: readonly Rule[], path: readonly string[], isFolder: boolean): boolean {
  const fitting = rules.filter(({ segments, isFolderOnly }) => {
    return (isFolder || !isFolderOnly) && fits(segments, path, { wildcard: "**", fitsOne: fitsSegment });
  });
  return fitting.at(-1)?.isNegated === false;
}

function fitsSegment(pattern: string, segment: string): boolean {
  return fits(pattern.split(""), segment.split(""), {
    wildcard: "*",
    fitsOne: (one, character) => one === "?" || one === character,
  });
}

interface Matching {
  /** The item of a pattern that matches any number of items. */
  readonly wildcard: string;
  fitsOne(pattern: string, item: string): boolean;
}

/** Backtracks only to the last wildcard, so that a long pattern cannot take exponential time. */
function fits(pattern: readonly string[], items: readonly string[], { wildcard, fitsOne }: Matching): boolean {
  let at = 0;
  let wildcardAt = -1;
  let resumeAt = 0;
  for (let index = 0; index < items.length;) {
    const wanted = pattern[at];
    if (wanted === wildcard) {
      wildcardAt = at;
      resumeAt = index;
      at += 1;
    } else if (wanted !== undefined && fitsOne(wanted, items[index] ?? "")) {
      at += 1;
      index += 1;
    } else if (wildcardAt >= 0) {
      resumeAt += 1;
      index = resumeAt;
      at = wildcardAt + 1;
    } else return false;
  }
  return pattern.slice(at).every((left) => left === wildcard);
}
