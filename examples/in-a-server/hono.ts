import { handler } from "./handler.ts";

// #region hono
import { Hono } from "hono";

export const app: Hono = new Hono();
app.post("/chat", (context) => handler(context.req.raw));
// #endregion hono
