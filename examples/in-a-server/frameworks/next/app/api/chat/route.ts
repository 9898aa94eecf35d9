// app/api/chat/route.ts
import { answer } from "../../../chat";

export const POST = (request: Request) => answer(request);
