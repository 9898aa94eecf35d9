import { execFileSync } from "node:child_process";
import { appendFileSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type LogServer, serveLogs, type ServedLog } from "../../src/inspect/live/serve-logs.ts";
import { follow } from "./follow.ts";
import { makeCliFolder } from "./run-command.ts";

const header = '{"type":"log","at":1,"version":1}\n';

async function serve(logs: readonly ServedLog[], folder?: string): Promise<LogServer> {
  const server = await serveLogs({ list: async () => logs, folder });
  onTestFinished(() => server.close());
  return server;
}

/** Unlike `fetch`, allows every header. */
function statusOf(
  url: string,
  options: { readonly method?: string; readonly path?: string; readonly headers?: { readonly [name: string]: string } },
): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, options, (response) => {
      response.destroy();
      resolve(response.statusCode ?? 0);
    });
    sent.on("error", reject);
    sent.end();
  });
}

const isOfServer = (name: string): boolean => /FSEvent|TCP/.test(name);

describe("serveLogs", () => {
  it("sends a log, and then each added line", async () => {
    const path = join(makeCliFolder(), "run.jsonl");
    writeFileSync(path, header);
    const { url } = await serve([{ name: "run.jsonl", path }]);
    const whole = await follow(`${url}log/0?from=0`);
    const part = await follow(`${url}log/0?from=${header.length}`);
    expect(await whole.until("\n")).toBe(header);
    appendFileSync(path, '{"type":"é');
    appendFileSync(path, '"}\n');
    expect(await whole.until('"}\n')).toBe(`${header}{"type":"é"}\n`);
    expect(await part.until('"}\n')).toBe('{"type":"é"}\n');
  });

  it("sends logs that appear in a folder", async () => {
    const folder = makeCliFolder();
    const logs: ServedLog[] = [{ name: "a.jsonl", text: header }];
    const { url } = await serve(logs, folder);
    const list = await follow(`${url}logs?from=0`);
    await list.until('"log/0"}\n');
    logs.push({ name: "b.jsonl", path: join(folder, "b.jsonl") });
    writeFileSync(join(folder, "b.jsonl"), header);
    expect(await list.until('"log/1"}\n')).toBe('{"name":"a.jsonl","url":"log/0"}\n{"name":"b.jsonl","url":"log/1"}\n');
    expect(await (await follow(`${url}log/1?from=0`)).until("\n")).toBe(header);
  });

  it("sends only complete lines, because a run may remove a line that a crash left incomplete", async () => {
    const path = join(makeCliFolder(), "run.jsonl");
    writeFileSync(path, `${header}{"type":"torn`);
    const { url } = await serve([{ name: "run.jsonl", path }]);
    const log = await follow(`${url}log/0?from=0`);
    expect(await log.until("\n")).toBe(header);
    truncateSync(path, header.length);
    appendFileSync(path, '{"type":"new"}\n');
    expect(await log.until('"new"}\n')).toBe(`${header}{"type":"new"}\n`);
  });

  it("sends a line of several megabytes", async () => {
    const path = join(makeCliFolder(), "run.jsonl");
    const long = `${JSON.stringify({ type: "x".repeat(2.5 * 2 ** 20) })}\n`;
    const end = '{"type":"end"}\n';
    writeFileSync(path, header + long + end);
    const { url } = await serve([{ name: "run.jsonl", path }]);
    const log = await follow(`${url}log/0?from=0`);
    expect((await log.until(end)).length).toBe(header.length + long.length + end.length);
  });

  it("ends a response when another log replaces the file", async () => {
    const folder = makeCliFolder();
    const path = join(folder, "run.jsonl");
    const long = `${header}{"type":"long"}\n`;
    writeFileSync(path, long);
    const { url } = await serve([{ name: "run.jsonl", path }]);
    const { headers, body } = await fetch(`${url}log/0?from=0`);
    const ended = new Response(body).text();
    const old = `${url}log/0?from=${long.length}&id=${headers.get("log-id") ?? ""}`;
    expect(await statusOf(old, {})).toBe(200);
    writeFileSync(join(folder, "new.jsonl"), `${header}{"type":"another, and longer"}\n`);
    renameSync(join(folder, "new.jsonl"), path);
    expect(await ended).toBe(long);
    expect(await statusOf(old, {})).toBe(409);
    expect(await statusOf(`${url}log/0?from=999`, {})).toBe(409);
  });

  it("notices that a log was rewritten in the same file", async () => {
    const path = join(makeCliFolder(), "run.jsonl");
    writeFileSync(path, header);
    const { url } = await serve([{ name: "run.jsonl", path }]);
    const { headers, body } = await fetch(`${url}log/0?from=0`);
    await body?.cancel();
    writeFileSync(path, `${header.replace('"at":1', '"at":2')}{"type":"new"}\n`);
    expect(await statusOf(`${url}log/0?from=${header.length}&id=${headers.get("log-id") ?? ""}`, {})).toBe(409);
  });

  it("keeps a request for a missing log open until the log appears", async () => {
    const path = join(makeCliFolder(), "run.jsonl");
    const { url } = await serve([{ name: "run.jsonl", path }]);
    const response = await fetch(`${url}log/0?from=0`);
    writeFileSync(path, header);
    expect([response.status, await response.text()]).toEqual([200, ""]);
    expect(await (await follow(`${url}log/0?from=0`)).until("\n")).toBe(header);
  });

  it.skipIf(process.platform === "win32").for<readonly [what: string, swap: (path: string, secret: string) => void]>([
    ["a symbolic link", (path, secret) => symlinkSync(secret, path)],
    ["a pipe", (path) => execFileSync("mkfifo", [path])],
    ["a file that is not a log", (path) => writeFileSync(path, "a secret\n")],
  ])("sends nothing if a log was replaced by %s", async ([, swap]) => {
    const folder = makeCliFolder();
    const path = join(folder, "run.jsonl");
    const secret = join(folder, "secret.jsonl");
    writeFileSync(secret, `${header}a secret\n`);
    writeFileSync(path, header);
    const { url } = await serve([{ name: "run.jsonl", path }]);
    rmSync(path);
    swap(path, secret);
    const response = await fetch(`${url}log/0?from=0`);
    expect([response.status, await response.text()]).toEqual([500, ""]);
  });

  it("serves the page with strict headers", async () => {
    const { url } = await serve([{ name: "a.jsonl", text: header }]);
    const response = await fetch(url);
    const page = await response.text();
    const policy = /content="(default-src[^"]*)"/.exec(page)?.[1] ?? "";
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "cache-control": "no-store",
      "content-security-policy": `${policy}; frame-ancestors 'none'`,
      "content-type": "text/html; charset=utf-8",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
    expect([policy.includes("connect-src 'self'"), response.headers.has("access-control-allow-origin")]).toEqual([true, false]);
    expect(page).toContain('{"logs":[{"name":"a.jsonl","url":"log/0"}]}');
  });

  it("answers only GET requests with the right token and host", async () => {
    const { url } = await serve([{ name: "a.jsonl", text: header }]);
    const { origin, port } = new URL(url);
    const table: readonly (readonly [url: string, options: Parameters<typeof statusOf>[1], status: number])[] = [
      [url, {}, 200],
      [url, { headers: { host: `localhost:${port}` } }, 200],
      [url, { headers: { host: `evil.example:${port}` } }, 403],
      [url, { headers: { host: "127.0.0.1" } }, 403],
      [url, { method: "POST" }, 405],
      [`${origin}/`, {}, 404],
      [`${origin}/wrong/`, {}, 404],
      [`${url}log/1`, {}, 404],
      [`${url}log/..%2f..%2fetc%2fpasswd`, {}, 404],
      [`${url}log//etc/passwd`, {}, 404],
      [`${url}log/0?from=-1`, {}, 400],
      [`${url}logs`, {}, 404],
    ];
    for (const [target, options, status] of table) expect([target, await statusOf(target, options)]).toEqual([target, status]);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/$/);
  });

  it.for(["//", "/\\", "//[", "/%", "*"])('answers a request for "%s" with status 404', async (target) => {
    const { url } = await serve([{ name: "a.jsonl", text: header }]);
    expect(await statusOf(new URL(url).origin, { path: target })).toBe(404);
  });

  it("releases the watchers and sockets when the server is closed", async () => {
    const folder = makeCliFolder();
    const path = join(folder, "run.jsonl");
    writeFileSync(path, header);
    const before = process.getActiveResourcesInfo().filter(isOfServer).length;
    const server = await serveLogs({ list: async () => [{ name: "run.jsonl", path }], folder });
    const ended = [`${server.url}log/0?from=0`, `${server.url}logs`].map(async (url) => {
      const { body } = await fetch(url);
      const reader = (body as ReadableStream<Uint8Array>).getReader();
      await reader.read();
      return reader.closed.catch(() => "cut off");
    });
    await follow(`${server.url}log/0?from=0`).then((one) => one.until("\n"));
    expect(process.getActiveResourcesInfo().filter(isOfServer).length).toBeGreaterThan(before);
    await server.close();
    await Promise.all(ended);
    await expect.poll(() => process.getActiveResourcesInfo().filter(isOfServer).length).toBeLessThanOrEqual(before);
  });

  it("follows many logs without a warning about too many listeners", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const { url } = await serve([{ name: "a.jsonl", text: header }]);
    for (let count = 0; count < 12; count += 1) await (await follow(`${url}log/0?from=0`)).until("\n");
    expect(warn.mock.calls).toEqual([]);
  });
});
