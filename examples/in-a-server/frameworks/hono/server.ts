// server.ts
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { answer } from "./chat";

const app = new Hono();
app.post("/api/chat", (context) => answer(context.req.raw));
serve({ fetch: app.fetch, port: Number(process.env["PORT"] ?? 3000) });
