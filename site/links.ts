// Finds the links of a page, and changes their targets.

const link =
  /(!?\[(?:[^[\]]|\[[^\]]*\])*\]\(\s*<?)([^)\s>]+)(>?(?:\s+"[^"]*")?\s*\))|(^\s*\[[^\]]+\]:\s*)(\S+)|(\b(?:href|src)=")([^"]+)(")/gm;

/** Matches code, in which nothing is a link: a fenced block, or a span. */
const code = /^([ \t]*)(```|~~~)[\s\S]*?^[ \t]*\2[ \t]*$|`[^`\n]+`/gm;

/** True for a link to another site, and for a link to a heading of the same page. */
export const isOutside = (target: string): boolean => /^([a-z][a-z+.-]*:|\/\/|#)/i.test(target);

/** Returns the page with other targets. `change` gets each target that is not code and not outside. */
export function changeLinks(page: string, change: (target: string) => string): string {
  const kept: string[] = [];
  const keep = (text: string): string => `\uE000${kept.push(text) - 1}\uE000`;
  const changed = page
    .replaceAll(code, (text) => keep(text))
    .replaceAll(link, (whole: string, ...parts: (string | undefined)[]) => {
      const [before, target, after] = [
        parts[0] ?? parts[3] ?? parts[5] ?? "",
        parts[1] ?? parts[4] ?? parts[6] ?? "",
        parts[2] ?? parts[7] ?? "",
      ];
      return isOutside(target) ? whole : `${before}${change(target)}${after}`;
    });
  return changed.replaceAll(/\uE000(\d+)\uE000/g, (_mark, index: string) => kept[Number(index)] ?? "");
}
