import type { Clients } from '../daemon/clients';
import type { TransportContext } from './connection';

export interface HttpOptions {
  host: string;
  port: number;
  token: string | undefined;
  runtimeDir: string;
}

export interface HttpListening {
  url: string;
  tokenPath: string | null;
  close(): void;
  removeToken(): void;
}

export async function listenHttp(_o: HttpOptions, _c: TransportContext, _k: Clients): Promise<HttpListening> {
  throw new Error('not yet');
}
