// Middleware that asks a person about each new combination of a tool and arguments, and remembers what is always allowed. Each
// permission is one file, so that any number of processes may share the folder without a lock.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Json, Middleware } from "turnwright";
import { denyCall, validatedArgs } from "turnwright/kit";

/** The answers of the person: pass one in `answers`, under the `id` of the waiting call. */
export type Permission = "deny" | "allow-once" | "allow-always";
const permission = z.enum(["deny", "allow-once", "allow-always"]);

/** The same text for the same data, in whatever order the model wrote the fields. */
function canonical(data: unknown): string {
  return JSON.stringify(data, (_, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  );
}

export function rememberPermissions(folder: string): Middleware {
  return {
    name: "remember-permissions",
    // `execute` sees the arguments after `approve` and guardrails have changed them.
    async execute(call, next, at) {
      await at.afterMessage();
      const valid = await validatedArgs(at, call);
      if (valid === undefined) return next(call); // the run refuses it
      // A new default of the schema and a new description of the tool need a new permission.
      const tool = at.tool?.description ?? null;
      const subject = canonical([call.name, tool, call.args, valid.value]);
      const file = join(folder, `${createHash("sha256").update(subject).digest("hex")}.json`);
      if (await at.step("known", () => existsSync(file))) return next(call);

      if (!at.mayWait) return denyCall(call, "Nobody can be asked about this call.");
      const facts: Json = { name: call.name, args: call.args, tool };
      const answer = await at.wait("permission", facts, { schema: permission });
      if (answer === "deny") return denyCall(call, "The user does not allow this call.");
      if (answer === "allow-always")
        await at.step("remember", () => {
          mkdirSync(folder, { recursive: true });
          writeFileSync(file, subject); // may run twice after a crash, with the same effect
        });
      return next(call);
    },
  };
}
