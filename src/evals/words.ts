import { toFileName } from "../journal/named-files.ts";

/** Returns a readable file name. Ids that are no file name, or could be that of another id, get a hash at the end. */
export function fileNameOf(id: string): string {
  if (/^[a-z0-9][a-z0-9._-]{0,63}$/.test(id)) return id;
  const readable = id
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, 40);
  return `${readable}-${toFileName(id).slice(0, 8)}`;
}
