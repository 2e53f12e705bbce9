import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * Starts a Kubernetes API server for a test: `oarlock apiserver`.
 * @param {{options?: string[], program?: string}} [settings] further flags; the program, else that of OARLOCK_BIN, else the oarlock of PATH
 */
export async function startApiServer({ options = [], program = process.env.OARLOCK_BIN ?? 'oarlock' } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'oarlock-'));
  const [kubeconfig, log] = [join(folder, 'kubeconfig'), join(folder, 'apiserver.log')];
  const file = await open(log, 'w');
  const flags = ['apiserver', '--port', '0', '--kubeconfig-out', kubeconfig, ...options];
  const server = spawn(program, flags, { stdio: ['ignore', 'pipe', file.fd] });
  const ended = once(server, 'close').catch((error) => [error.message]);
  await file.close();
  const lines = createInterface(server.stdout);
  const url = await Promise.race([once(lines, 'line').then(([line]) => line), ended.then(() => undefined)]);
  const stop = async () => {
    server.kill();
    await ended;
    await rm(folder, { recursive: true });
  };
  if (!url) {
    const [[status], said] = [await ended, await readFile(log, 'utf8')];
    await stop();
    throw new Error(`${program} apiserver ended (${status}): ${said}`);
  }
  /** Adds a fault rule of docs/api-server.md, and returns its id. */
  const fault = async (rule) => {
    const request = { method: 'POST', headers: { 'X-Oarlock-Faults': '1' }, body: JSON.stringify(rule) };
    const answer = await fetch(`${url}/_oarlock/faults`, request);
    const { ids, message } = await answer.json();
    if (!answer.ok) throw new Error(message);
    return ids[0];
  };
  return { url, kubeconfig, log, fault, stop };
}
