import { isRecord } from "./guards.ts";

/**
 * True if Postgres has refused the data (SQLSTATE class 22), found a violated constraint (23), or refused the statement (42). It
 * would refuse another try too.
 */
export function isRefusedByPostgres(error: unknown): boolean {
  const code = isRecord(error) ? error["code"] : undefined;
  return typeof code === "string" && /^(22|23|42)[0-9A-Z]{3}$/.test(code);
}
