// Checks that each server streams a run, and stops the run when the client disconnects. Also checks that one worker can continue
// the job of another.

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { stopStandIn } from "../support/openai-stand-in.ts";
import { startPostgres } from "../workers/start-postgres.ts";
import type { Express } from "express";
import { Client } from "pg";
import { createLoopControl } from "turnwright";
import { ask } from "./ask.ts";
import { app as expressApp } from "./express.ts";
import { app as framesApp } from "./express-frames.ts";
import { answer } from "./chat.ts";
import { handler } from "./handler.ts";
import { app as honoApp } from "./hono.ts";
import { forecasts, provider } from "./scene.ts";
import { work } from "./worker.ts";

type Serve = (request: Request) => Response | Promise<Response>;

const wholeAnswer = [
  '{"type":"tool-start","name":"get_forecast"}',
  '{"type":"text-delta","text":"Yes, tak"}',
  '{"type":"text-delta","text":"e a coat."}',
  '{"type":"run-end","status":"completed","reason":"answered"}',
];

function post(url: string, body: object, signal?: AbortSignal): Request {
  const headers = { "content-type": "application/json" };
  return new Request(url, { method: "POST", headers, body: JSON.stringify(body), ...(signal && { signal }) });
}

/** A stopped run closes its stream a moment later. */
async function untilIdle(): Promise<void> {
  while (provider.active > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Reads the start of an answer that never ends, and then disconnects. */
async function leaveEarly(response: Response): Promise<void> {
  assert(response.body !== null);
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  for (let read = ""; !read.includes("One moment");) read += decoder.decode((await reader.read()).value, { stream: true });
  assert.equal(provider.active, 1);
  await reader.cancel();
  await untilIdle();
}

/** Checks a route for pages with `useChat`. Each check has a chat of its own. */
async function check(name: string, serve: Serve, url = "http://localhost/api/chat"): Promise<void> {
  const ask = (id: string, text: string): object => ({ id, messages: [{ id, role: "user", parts: [{ type: "text", text }] }] });
  const whole = await serve(post(url, ask(`${name} 1`, "Do I need a coat in Oslo?")));
  assert.equal(whole.headers.get("content-type"), "text/event-stream");
  const said = Array.from((await whole.text()).matchAll(/"delta":"([^"]*)"/g), ([, delta]) => delta);
  assert.deepEqual(said, ["Yes, tak", "e a coat."]);
  assert.equal((await serve(post(url, {}))).status, 400);
  await leaveEarly(await serve(post(url, ask(`${name} 2`, "Wait."))));
  const { error } = console;
  const logged = new Promise<unknown>((resolve) => (console.error = resolve));
  assert.match(await (await serve(post(url, ask(`${name} 3`, "Fail.")))).text(), /"errorText":"An error occurred\."/);
  assert.match(JSON.stringify(await logged), /401/); // the page gets no details, so they are in the log
  console.error = error;
  console.log(`✓ ${name}`);
}

const askAboutTokyo = (id: string): Request => {
  const message = { id, role: "user", parts: [{ type: "text", text: "Is it late in Tokyo?" }] };
  return post("http://localhost/api/chat", { id: "whole", messages: [message] });
};

/** The files that the page shows are chat.ts and express.ts, with a model and a tool of their own. */
async function checkWhole(): Promise<void> {
  const read = (path: string): string =>
    readFileSync(new URL(path, import.meta.url), "utf8").replace(/\n\/\/ #endregion \w+\n$/, "\n");
  for (const path of ["chat.ts", "express.ts"]) {
    const [, route] = read(path).split("const histories");
    assert.ok(route !== undefined && read(`whole-${path}`).endsWith(route), path);
  }
  const { answer: answerWhole } = await import("./whole-chat.ts"); // creates a client when the stand-in is ready
  assert.match(await (await answerWhole(askAboutTokyo("m1"))).text(), /Tokyo/);
  const { app } = await import("./whole-express.ts");
  await withServer(app, async (url) => {
    assert.match(await (await fetch(new Request(`${url}/api/chat`, askAboutTokyo("m1")))).text(), /Tokyo/);
  });
  console.log("✓ the whole files");
}

async function withServer(app: Express, use: (url: string) => Promise<void>): Promise<void> {
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address !== null && typeof address === "object");
  await use(`http://127.0.0.1:${address.port}`);
  server.close();
  server.closeAllConnections();
}

/** A worker connects for each request. The second request continues the conversation of the first. */
async function checkStored(): Promise<void> {
  const postgres = await startPostgres();
  const { default: worker } = await import("./stored-worker.ts");
  const works: Promise<unknown>[] = [];
  const context = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
  const serve = (request: Request) => worker.fetch(request, { HYPERDRIVE: { connectionString: postgres.url } }, context);
  for (const id of ["m1", "m2"]) {
    assert.match(await (await serve(askAboutTokyo(id))).text(), /Tokyo/);
    await Promise.all(works);
  }
  assert.equal((await serve(post("http://localhost/api/chat", {}))).status, 400);
  assert.equal((await serve(new Request("http://localhost/"))).status, 404);
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  const { rows } = await client.query<{ count: number }>("SELECT count(*)::int FROM turnwright.chat_messages");
  const running = "jsonb_set(state::jsonb, '{lastRun,status}', '\"running\"')::text";
  await client.query(
    `UPDATE turnwright.chats SET state = ${running}, holder = 'other', held_until = now() + interval '1 minute'`,
  );
  assert.equal((await serve(askAboutTokyo("m3"))).status, 409);
  await client.end();
  await Promise.all(works);
  assert.deepEqual([works.length, rows[0]?.count], [3, 8]);
  await postgres.stop();
  console.log("✓ a worker with Hyperdrive");
}

async function checkFrames(): Promise<void> {
  const url = "http://localhost/chat";
  const whole = await handler(post(url, { question: "Do I need a coat in Oslo?" }));
  assert.equal(whole.headers.get("content-type"), "text/event-stream");
  assert.deepEqual(await readFrames(whole), wholeAnswer);
  assert.equal((await handler(post(url, { question: "" }))).status, 400);
  await leaveEarly(await handler(post(url, { question: "Wait." })));
  console.log("✓ frames of your own");
}

async function readFrames(response: Response): Promise<readonly string[]> {
  const frames = (await response.text()).split("\n\n").filter((frame) => frame !== "");
  return frames.map((frame) => frame.replace(/^data: /, ""));
}

async function checkSignal(): Promise<void> {
  const client = new AbortController();
  const response = await handler(post("http://localhost/chat", { question: "Wait." }, client.signal));
  const frames = readFrames(response);
  while (provider.active === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  client.abort();
  assert.deepEqual((await frames).at(-1), '{"type":"run-end","status":"stopped-by-user","reason":"aborted"}');
  assert.equal(provider.active, 0);
  console.log("✓ request.signal ends the run");
}

async function checkExpress(): Promise<void> {
  await withServer(expressApp.use(framesApp), async (url) => {
    await check("Express", (request) => fetch(request), `${url}/api/chat`);
    const body = JSON.stringify({ question: "Do I need a coat in Oslo?" });
    const frames = await fetch(`${url}/ask`, { method: "POST", body, headers: { "content-type": "application/json" } });
    assert.match(await frames.text(), /"type":"text-delta".*"type":"run-end","status":"completed"/s);
    const shown: string[] = [];
    await ask(`${url}/ask`, "Do I need a coat in Oslo?", (text) => shown.push(text));
    assert.deepEqual(shown, ["Yes, tak", "e a coat."]);
  });
}

/** The second worker finishes the job after the first worker shuts down. The tool must run only once. */
async function checkWorker(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "worker-"));
  const job = { id: "job-7", question: "Do I need a coat in Oslo?" };
  const control = createLoopControl();
  forecasts.onCall = () => control.drain();
  const before = [provider.calls, forecasts.count] as const;
  assert.equal(await work(job, control, folder), false);
  assert.equal(await work(job, createLoopControl(), folder), true);
  assert.deepEqual([provider.calls - before[0], forecasts.count - before[1]], [2, 1]);
  rmSync(folder, { recursive: true, force: true });
  console.log("✓ a worker continues the job of another worker");
}

/** The first process gets SIGTERM in the middle of an answer. The second one writes the rest. */
async function checkRestart(): Promise<void> {
  const postgres = await startPostgres();
  const first = await startHost(postgres.url);
  const response = await fetch(`${first.url}/coat`, { method: "POST" });
  let events = "";
  for await (const chunk of response.body ?? []) {
    const isBefore = !events.includes("event: tool-start");
    events += new TextDecoder().decode(chunk);
    if (isBefore && events.includes("event: tool-start")) first.child.kill("SIGTERM");
  }
  assert.match(events, /"drained"/);
  await first.ended;
  const second = await startHost(postgres.url);
  let whole = "";
  while (!whole.includes('"completed"')) whole = await (await fetch(`${second.url}/coat`)).text(); // it listens before it resumes
  assert.match(whole, /Let me see\. .*Yes, take a coat\..*"completed"/s);
  second.child.kill("SIGTERM");
  assert.deepEqual(await second.ended, [0, null]);
  await postgres.stop();
  console.log("✓ a server that restarts finishes its answers");
}

interface HostProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly ended: Promise<unknown>;
}

async function startHost(database: string): Promise<HostProcess> {
  const program = fileURLToPath(new URL("host-server.ts", import.meta.url));
  const stdio = ["ignore", "pipe", "inherit"] as const;
  const env = { ...process.env, PORT: "0", DATABASE_URL: database };
  const child = spawn(process.execPath, [...process.execArgv, program], { stdio: [...stdio], env });
  const ended = once(child, "exit");
  const [url] = (await Promise.race([once(createInterface(child.stdout), "line"), ended])) as [string];
  return { child, url, ended };
}

await check("a web-standard route", (request) => answer(request));
await checkWhole();
await checkStored();
await stopStandIn();
await check("Hono", (request) => honoApp.fetch(request));
await checkExpress();
await checkFrames();
await checkSignal();
await checkWorker();
await checkRestart();
