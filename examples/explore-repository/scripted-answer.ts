// Writes the final answer of the scripted model, from the facts in the tool results. The answer also says which facts are
// missing.

import { type Clues, soughtWords } from "./clues.ts";
import { readOpening } from "./repository-facts.ts";
import type { Listing, Seen } from "./seen.ts";

export function composeAnswer({ listing }: Seen, clues: Clues): string {
  if (listing.total === 0) return "There are no files here that I may read, so there is nothing to tell.";
  return [
    tellProject(clues),
    tellLayout(listing),
    tellLoop(clues),
    "I am a script: all of this is put together from what the tools answered.",
  ].join("\n\n");
}

function tellProject({ manifest, manifestPath, readme }: Clues): string {
  const { name, version, description = readOpening(readme ?? "") } = manifest;
  if (name === undefined && description === undefined)
    return "Nothing here says what it is: I found no manifest and no README that I can read.";
  const title = [name ?? "This project", version].filter((word) => word !== undefined).join(" ");
  const source = name === undefined ? "README" : manifestPath;
  return `${title}${description === undefined ? "" : `: ${description.replace(/\.?$/, ".")}`} (${source})`;
}

function tellLayout({ total, folders, files }: Listing): string {
  const top = folders.filter(({ folder }) => !folder.includes("/"));
  const lines = top.slice(0, 8).map(({ folder, files: within }) => {
    const inner = folders.filter((other) => other.folder.startsWith(`${folder}/`)).slice(0, 6);
    const parts = inner.map((other) => `${other.folder.slice(folder.length + 1)} ${other.files}`).join(", ");
    return `- ${folder}/ ${within}${parts === "" ? "" : ` (${parts})`}`;
  });
  const atRoot = files.filter((path) => !path.includes("/")).length;
  return [`It has ${total} files, ${atRoot} of them at the top:`, ...lines].join("\n");
}

function tellLoop({ shownName, shown, sought, decider, caller }: Clues): string {
  const sentences = [
    shownName !== undefined && shown === undefined ? `Where \`${shownName}\` is defined I did not find.` : undefined,
    shown === undefined ? undefined : `\`${shownName}\`, which the README calls, is defined in ${shown.path}:${shown.line}.`,
    sought === undefined
      ? `No source file speaks of "${soughtWords}".`
      : `${sought.path}:${sought.line} says: "${withoutMarks(sought.text)}"`,
    decider === undefined ? undefined : `Below it stands \`${decider.name}\` (line ${decider.line}).`,
    caller === undefined ? undefined : `It is called in ${caller.path}:${caller.line}: \`${caller.text}\``,
  ];
  return sentences.filter((sentence) => sentence !== undefined).join(" ");
}

function withoutMarks(line: string): string {
  return line.replace(/^[/*#\s]+/, "").replace(/\s*\*\/$/, "");
}
