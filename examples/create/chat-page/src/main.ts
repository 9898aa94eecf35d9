import { chooseModel } from "./model.ts";
import { script } from "./script.ts";
import { createChatServer } from "./server.ts";

const server = await createChatServer(await chooseModel(script));
const port = Number(process.env["PORT"] ?? 3000);
server.on("error", (error) => {
  console.error(`The server cannot start: ${error.message}. Set PORT to use another port.`);
  process.exitCode = 1;
});
server.listen(port, "127.0.0.1", () => {
  const address = server.address();
  console.log(`Open http://localhost:${typeof address === "object" && address !== null ? address.port : port}`);
});
