// Takes user names and passwords out of URLs, also passwords with characters that should have been encoded.

const redacted = "[redacted]";

const encoded: readonly (readonly [pattern: RegExp, character: string])[] = [
  [/%3A/gi, ":"],
  [/%2F/gi, "/"],
  [/%40/gi, "@"],
  [/%3F/gi, "?"],
];

/** Reads a URL from "://" or "%3A%2F%2F" on. If it is encoded and holds a password, it is returned decoded. */
export function redactWholeUrl(match: string): string {
  if (match.startsWith(":")) return redactUrl(match);
  const decoded = encoded.reduce((text, [pattern, character]) => text.replace(pattern, character), match);
  const clean = redactUrl(decoded);
  return clean === decoded ? match : clean;
}

/** The first character that says what stands before it. */
const delimiter = /[:/?#@]/g;

/** A port, not a password. */
const port = /:\d{0,5}(?=[/?#]|$)/y;

const ipv6 = /\[[^\]@/]{0,64}\]/y;

function redactUrl(url: string): string {
  const last = url.lastIndexOf("@");
  let clean = "";
  let kept = 0;
  // A URL may hold another one as a parameter.
  for (let at = url.indexOf("://"); at !== -1 && at < last; at = url.indexOf("://", Math.max(kept, at + 3))) {
    const from = at + 3;
    const end = findEnd(url, from, last);
    if (end === undefined) continue;
    clean += url.slice(kept, from) + redacted;
    kept = end;
  }
  return clean + url.slice(kept);
}

/** Where the user name and the password end, if there are any. After a colon it is the last "@": a password may hold others. */
function findEnd(url: string, from: number, last: number): number | undefined {
  ipv6.lastIndex = from;
  delimiter.lastIndex = ipv6.test(url) ? ipv6.lastIndex : from;
  const found = delimiter.exec(url);
  if (found === null) return undefined;
  if (found[0] === "@") return found.index > from ? found.index : undefined;
  port.lastIndex = found.index;
  return found[0] === ":" && !port.test(url) ? last : undefined;
}
