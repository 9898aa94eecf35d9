import { answer } from "./chat.ts";

// #region hono
import { Hono } from "hono";

export const app: Hono = new Hono();
app.post("/api/chat", (context) => answer(context.req.raw));
// #endregion hono
