import type { SidecarClient } from '../../client/client';
import type { MethodName, Params, Result } from '../../protocol/methods';
import type { ToolClient } from '../../protocol/tools/client';

/** Connects when it is first used, and again after the sidecar has gone: agents run longer than sidecars. */
export class LastingClient implements ToolClient {
  private current: Promise<SidecarClient> | undefined;

  constructor(private readonly connect: () => Promise<SidecarClient>) {}

  async request<M extends MethodName>(method: M, params: Params<M>): Promise<Result<M>> {
    this.current ??= this.open();
    const client = await this.current;
    return client.request(method, params);
  }

  private async open(): Promise<SidecarClient> {
    const forget = () => {
      this.current = undefined;
    };
    try {
      const client = await this.connect();
      client.onClose(forget);
      return client;
    } catch (thrown) {
      forget();
      throw thrown;
    }
  }
}
