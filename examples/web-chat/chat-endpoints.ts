// The endpoints of the chat. They start and resume runs in a run host, and stream them to `useChat`.

import type { IncomingMessage, ServerResponse } from "node:http";
import type { HostedLoopOptions, RunHost } from "turnwright/host";
import { pipeUIMessageStream, readUIChatRequest } from "turnwright/ui-message-stream";

export interface Chat {
  readonly host: RunHost;
  readonly run: HostedLoopOptions;
}

/**
 * POST /api/chat. The body contains a new message, a decision about a call that waits for it, or a request for another answer.
 */
export async function postChat({ host, run }: Chat, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { id, message, answers, continues } = await readUIChatRequest(req, { maxBytes: 500_000, maxFiles: 0 });
  if (!isChatId(id)) return void res.writeHead(404).end(); // check here that the user may use this chat
  // The message may be new, edited, sent a second time, or to be answered again.
  if (message !== undefined) {
    const answer = await host.start(id, { ...run, message });
    if (answer.kind !== "started") return refuse(res);
    return pipeUIMessageStream(answer.join(), res, { version: 7 }); // the major version of `ai` in the page
  }
  // A tab may still show an earlier run. Its answers are refused.
  if ((await host.status(id))?.runId !== continues) return refuse(res);
  const answer = await host.resume(id, { ...run, answers });
  if (answer.kind !== "started") return refuse(res);
  await pipeUIMessageStream(answer.join(), res, { version: 7, from: "live" });
}

/**
 * GET /api/chat/:id/stream. A page sends this request when it is reloaded or opened in a second tab, and after the server
 * crashed.
 */
export async function getStream({ host, run }: Chat, id: string, res: ServerResponse): Promise<void> {
  await host.status(id); // forgets what this process knows of a run that another process has continued
  if (host.join(id) === undefined) await host.resume(id, run); // continues from the journal if the last run was cut off
  await pipeUIMessageStream(host.join(id), res, { version: 7 }); // status 204 if there is nothing to read
}

/** DELETE /api/chat/:id/run. The stop button of any tab sends this request. */
export const deleteRun = ({ host }: Chat, id: string, res: ServerResponse): void =>
  void res.writeHead(host.stop(id, { requester: "page" }) === "accepted" ? 202 : 409).end();

export const isChatId = (id: string): boolean => /^[\w-]{1,64}$/.test(id);
const refuse = (res: ServerResponse): void => void res.writeHead(409).end("This is not possible now. Reload the page.");
