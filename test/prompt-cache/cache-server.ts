// Simulates Anthropic's prompt cache. Entries end at marked blocks. A mark also reads entries that end up to 20 blocks before
// it.

import type { Clock } from "turnwright";

const maxMarks = 4;
const lookback = 20;
const lifeMs = 300_000;

type Fields = { readonly [field: string]: unknown };

/** How the server handled one request. Positions count the blocks of tools, system text and messages from 1. */
export interface CacheAnswer {
  /** The last block of the longest entry that the request read. 0 if it read none. */
  readonly read: number;
  /** The last marked block. The request wrote an entry that ends there. */
  readonly lastMark: number;
  readonly marks: readonly number[];
  readonly blocks: number;
}

export class CacheServer {
  readonly answers: CacheAnswer[] = [];
  readonly #clock: Pick<Clock, "now">;
  /** The time at which each entry ends, by the text of its blocks. */
  readonly #entries = new Map<string, number>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  take(body: object): CacheAnswer {
    const blocks = listBlocks(body);
    const keys = toKeys(blocks);
    const marks = blocks.flatMap(({ isMarked }, at) => (isMarked ? [at + 1] : []));
    if (marks.length > maxMarks) throw new Error(`A maximum of 4 blocks may have cache_control, but ${marks.length} have.`);
    const read = Math.max(0, ...marks.map((mark) => this.#findEntry(keys, mark)));
    const until = this.#clock.now() + lifeMs;
    for (const end of [...marks, read]) if (end > 0) this.#entries.set(keys[end - 1] ?? "", until);
    const answer = { read, lastMark: marks.at(-1) ?? 0, marks, blocks: blocks.length };
    this.answers.push(answer);
    return answer;
  }

  #findEntry(keys: readonly string[], mark: number): number {
    for (let end = mark; end > Math.max(0, mark - lookback); end -= 1) {
      if ((this.#entries.get(keys[end - 1] ?? "") ?? 0) > this.#clock.now()) return end;
    }
    return 0;
  }
}

interface Block {
  readonly text: string;
  readonly isMarked: boolean;
}

export function listBlocks(body: object): readonly Block[] {
  const { tools, system, messages = [] } = body as Fields;
  const lists: readonly (readonly [where: string, blocks: unknown])[] = [
    ["tool", tools],
    ["system", typeof system === "string" ? [{ type: "text", text: system }] : system],
    ...(messages as readonly Fields[]).map(({ role, content }) => [String(role), content] as const),
  ];
  return lists.flatMap(([where, blocks]) => ((blocks ?? []) as readonly Fields[]).map((block) => toBlock(where, block)));
}

function toBlock(where: string, { cache_control: mark, ...content }: Fields): Block {
  return { text: where + JSON.stringify(content), isMarked: mark !== undefined };
}

/** Returns a key for each prefix, as a chain of hashes. The test has no collisions. */
function toKeys(blocks: readonly Block[]): readonly string[] {
  let chain = 0;
  return blocks.map(({ text }, at) => {
    for (let index = 0; index < text.length; index += 1) chain = (Math.imul(chain, 31) + text.charCodeAt(index)) | 0;
    return `${at}:${chain}`;
  });
}
