import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { follow } from "./follow.ts";
import { makeCliFolder, runCommand } from "./run-command.ts";

const header = '{"type":"log","at":1,"version":1}\n';

describe("turnwright inspect --live", () => {
  it("serves the page until the stop signal fires", async () => {
    const folder = makeCliFolder();
    writeFileSync(join(folder, "run.jsonl"), header);
    const stop = new AbortController();
    const pages: string[] = [];
    const { exitCode, opened } = await runCommand(folder, ["inspect", "run.jsonl", "--live"], {
      stopSignal: () => stop.signal,
      out: (url) => {
        void fetch(url).then(async (response) => {
          pages.push(await response.text());
          stop.abort();
        });
      },
    });
    expect([exitCode, opened.length, pages[0]?.includes('"url":"log/0"')]).toEqual([0, 1, true]);
  });

  it("opens a private file that leads to the URL, because all users can see command-line arguments", async () => {
    const folder = makeCliFolder();
    writeFileSync(join(folder, "run.jsonl"), header);
    const stop = new AbortController();
    const links: { readonly mode: number; readonly text: string }[] = [];
    const { out, opened } = await runCommand(folder, ["inspect", "run.jsonl", "--live"], {
      stopSignal: () => stop.signal,
      note: () => stop.abort(),
      open: (target) => {
        const path = fileURLToPath(target);
        return links.push({ mode: statSync(path).mode & 0o777, text: readFileSync(path, "utf8") }) > 0;
      },
    });
    expect([opened, out.length]).toEqual([[], 1]);
    expect(links).toEqual([{ mode: 0o600, text: expect.stringContaining(`content="0; url=${out[0] ?? "no URL"}"`) }]);
  });

  it("removes the private file that leads to the URL when the stop signal fires", async () => {
    const folder = makeCliFolder();
    writeFileSync(join(folder, "run.jsonl"), header);
    const stop = new AbortController();
    stop.abort();
    const { opened } = await runCommand(folder, ["inspect", "run.jsonl", "--live"], { stopSignal: () => stop.signal });
    expect(opened.map((url) => [url.startsWith("file:"), existsSync(fileURLToPath(url))])).toEqual([[true, false]]);
  });

  it("follows a log that does not exist yet, and a log behind a symbolic link", async () => {
    const folder = makeCliFolder();
    writeFileSync(join(folder, "real.jsonl"), header);
    symlinkSync("real.jsonl", join(folder, "link.jsonl"));
    const stop = new AbortController();
    const texts: string[] = [];
    const readBoth = async (url: string): Promise<void> => {
      texts.push(await (await follow(`${url}log/1?from=0`)).until("\n"));
      const waiting = await fetch(`${url}log/0?from=0`);
      writeFileSync(join(folder, "later.jsonl"), header);
      texts.push(await waiting.text(), await (await follow(`${url}log/0?from=0`)).until("\n"));
    };
    const { exitCode, notes } = await runCommand(folder, ["inspect", "later.jsonl", "link.jsonl", "--live"], {
      stopSignal: () => stop.signal,
      out: (url) => void readBoth(url).finally(() => stop.abort()),
    });
    expect([exitCode, notes, texts]).toEqual([0, ["The page follows the logs. Press Ctrl+C to stop."], [header, "", header]]);
  });

  it("serves the other logs in a folder that contains a damaged journal", async () => {
    const folder = makeCliFolder();
    writeFileSync(join(folder, "a.jsonl"), '{"format":"turnwright-journal","version":99}\nno JSON\n');
    writeFileSync(join(folder, "b.jsonl"), header);
    const stop = new AbortController();
    const pages: string[] = [];
    const { exitCode, notes } = await runCommand(folder, ["inspect", ".", "--live"], {
      stopSignal: () => stop.signal,
      out: (url) =>
        void fetch(url)
          .then(async (response) => pages.push(await response.text()))
          .finally(() => stop.abort()),
    });
    expect([exitCode, notes[0]]).toEqual([0, expect.stringContaining("Skipped a.jsonl: ")]);
    expect(pages[0]).toContain('{"logs":[{"name":"b.jsonl","url":"log/0"}],"list":"logs"}');
  });
});
