// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Browsers start no worker from a file:// page. There the search runs in a hidden frame that speaks like one.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const address = new URL(url, location.href).href;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.frame = frame;
      this.waiting = [];
      window.addEventListener("message", event => {
        if (event.source !== frame.contentWindow) return;
        const copy = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(copy);
        if (this.onmessage) this.onmessage(copy);
      });
      const page = frame.contentDocument;
      const inside = frame.contentWindow;
      inside.postMessageOut = data => parent.postMessage(data, "*");
      page.open();
      page.write(`<script>
        const enter = window.postMessage.bind(window);
        window.importScripts = (...urls) => urls.reduce((before, u) => before.then(() => new Promise(done => {
          const script = document.createElement("script");
          script.src = u; script.onload = done; document.body.append(script);
        })), Promise.resolve());
        window.postMessage = data => parent.dispatchEvent(
          new MessageEvent("message", { data, source: window }));
        window.enter = data => window.dispatchEvent(new MessageEvent("message", { data }));
      <\/script><body><script src="${address}"><\/script></body>`);
      page.close();
      frame.addEventListener("load", () => this.flush());
    }
    flush() {
      this.ready = true;
      for (const data of this.waiting.splice(0)) this.frame.contentWindow.enter(data);
    }
    postMessage(data) {
      if (this.ready) this.frame.contentWindow.enter(data);
      else this.waiting.push(data);
    }
    terminate() { this.frame.remove(); }
  };
  window.Worker = window.IFrameWorker;
}
