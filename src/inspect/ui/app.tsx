import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type LoadedLog, loadLog, readPageData } from "./load-logs.ts";

export function App(): JSX.Element {
  const [logs, setLogs] = useState<readonly LoadedLog[]>([]);
  useEffect(() => {
    readPageData().logs.forEach((one, index) => {
      void loadLog(one, (loaded) => setLogs((before) => Object.assign([...before], { [index]: loaded })));
    });
  }, []);
  return (
    <main>
      {logs.map(({ name, log, problem }) => (
        <p key={name}>{problem ?? `${name}: ${log?.runs.length ?? 0} runs`}</p>
      ))}
    </main>
  );
}
