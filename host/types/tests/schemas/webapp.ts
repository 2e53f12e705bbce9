/** A web application. */
export interface WebApp {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  spec: WebAppSpec;
  status?: WebAppStatus;
}

/** What should run. */
export interface WebAppSpec {
  /**
   * The image.
   * @minLength 1
   * @maxLength 200
   * @x-kubernetes-validations [{"rule": "self.contains('/')", "message": "an image has a registry"}]
   */
  image: string;
  /**
   * @asType integer
   * @format int32
   * @minimum 0
   * @default 1
   */
  replicas?: number;
  /** How it is updated. */
  strategy?: "Recreate" | "RollingUpdate" | null;
  port?: number | string;
  labels?: Record<string, string>;
  extra?: unknown;
  open?: Record<string, unknown>;
  rules?: Rule[];
  /** @uniqueItems true */
  hosts?: string[];
  backend?: Http | Tcp;
  pair?: [string, string];
  since?: Date;
  ratio?: number;
  mode?: Mode;
}
export enum Mode { On = "on", Off = "off" }
export interface Http { type: "http"; path: string; }
export interface Tcp { type: "tcp"; port: number; }
export interface Rule { host: string; weight?: number | null }
export interface WebAppStatus { ready: boolean; conditions?: { type: string; status: "True" | "False" | "Unknown" }[] }
