// worker.ts
import { answer } from "./chat";

interface Context {
  waitUntil(work: Promise<unknown>): void;
}

export default {
  fetch(request: Request, _env: unknown, context: Context): Response | Promise<Response> {
    const isChat = request.method === "POST" && new URL(request.url).pathname === "/api/chat";
    return isChat ? answer(request, (work) => context.waitUntil(work)) : new Response("Not found", { status: 404 });
  },
};
