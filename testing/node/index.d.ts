/** A running API server. */
export interface ApiServer {
  /** `http://127.0.0.1:PORT`; a client without credentials is the administrator. */
  readonly url: string;
  /** The path of a kubeconfig. */
  readonly kubeconfig: string;
  /** The path of the server's log, until it is stopped. */
  readonly log: string;
  /** Adds a fault rule of docs/api-server.md, and returns its id. */
  fault(rule: object): Promise<string>;
  /** Stops the server, and removes its folder. */
  stop(): Promise<void>;
}

/**
 * Starts `oarlock apiserver` on a free port.
 *
 * @param settings.options further flags, such as `--data-dir`
 * @param settings.program the program; else that of the variable OARLOCK_BIN, else the oarlock of PATH
 */
export function startApiServer(settings?: { options?: string[]; program?: string }): Promise<ApiServer>;
