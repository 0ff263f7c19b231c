import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { failure, type LimpetError } from '../../protocol/errors';
import { authority, isLoopback } from './http-address';

export interface Rejection {
  status: number;
  error: LimpetError;
  headers?: Record<string, string>;
}

export interface GuardOptions {
  token: string;
  host: string;
  port: number;
}

/** Decides from the headers alone whether a request may be read. Every route passes through it. */
export function makeGuard({ token, host, port }: GuardOptions): (request: IncomingMessage) => Rejection | undefined {
  const expected = digest(`Bearer ${token}`);
  const names = allowedHosts(host, port);

  const isAllowedHost = (request: IncomingMessage) => {
    const [name, second] = request.headersDistinct.host ?? [];
    if (name === undefined || second !== undefined) return false;
    return names.has(name.toLowerCase()) || name === authority(request.socket.localAddress ?? '', port);
  };
  const hasToken = (request: IncomingMessage) => {
    const [given, second] = request.headersDistinct.authorization ?? [];
    // Digests are of equal length whatever was sent, so the comparison takes the same time for all.
    return timingSafeEqual(digest(given ?? ''), expected) && second === undefined;
  };

  return (request) => {
    if (!isAllowedHost(request)) return { status: 403, error: failure.foreignHost(authority(host, port)) };
    if (request.headers.origin !== undefined) return { status: 403, error: failure.webPage() };
    if (!hasToken(request)) {
      return { status: 401, error: failure.unauthorized(), headers: { 'www-authenticate': 'Bearer' } };
    }
    if (request.url !== '/') return { status: 404, error: failure.invalidRequest('There is only one path: POST /.') };
    if (request.method !== 'POST') {
      return { status: 405, error: failure.invalidRequest('Send requests with POST.'), headers: { allow: 'POST' } };
    }
    if (!/^application\/json *(;|$)/i.test(request.headers['content-type'] ?? '')) {
      return { status: 415, error: failure.invalidRequest('Send JSON with "Content-Type: application/json".') };
    }
    return undefined;
  };
}

/** Exact names only, so that a page cannot reach us through a name that it makes resolve to this machine. */
function allowedHosts(host: string, port: number): Set<string> {
  const hosts = isLoopback(host) ? [host, 'localhost', '127.0.0.1', '::1'] : [host];
  const names = hosts.map((name) => authority(name, port).toLowerCase());
  return new Set(port === 80 ? [...names, ...names.map((name) => name.replace(/:80$/, ''))] : names);
}

const digest = (text: string) => createHash('sha256').update(text).digest();
