// src/routes/api/chat/+server.ts
import { answer } from "../../../lib/chat";
import type { RequestHandler } from "./$types";

export const POST: RequestHandler = ({ request }) => answer(request);
