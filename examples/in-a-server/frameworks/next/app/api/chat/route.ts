// app/api/chat/route.ts
import { after } from "next/server";
import { answer } from "../../../chat";

export const POST = (request: Request) => answer(request, after);
