
(() => {
  const TURNS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  const reach = (one) => [parseFloat(one.dataset.from), parseFloat(one.dataset.to)];
  const players = new Map();
  const player = (figure, audio) => {
    const tiles = [...figure.querySelectorAll(".tiles svg")];
    const words = [...figure.querySelectorAll(".said")];
    let until = Infinity;
    const draw = () => {
      const now = audio.currentTime;
      for (const tile of tiles) {
        const [from, to] = reach(tile);
        const cursor = tile.querySelector(".cursor");
        const inside = now >= from && now < to && (now > 0 || !audio.paused);
        cursor.setAttribute("visibility", inside ? "visible" : "hidden");
        if (inside) cursor.setAttribute("transform", `translate(${((now - from) / (to - from)) * tile.viewBox.baseVal.width})`);
      }
      for (const word of words) {
        const [from, to] = reach(word);
        word.classList.toggle("now", !audio.paused && now >= from && now < to);
      }
    };
    const stop = () => {
      if (audio.currentTime < until) return;
      audio.pause();
      until = Infinity;
    };
    const follow = () => {
      stop();
      draw();
      if (!audio.paused) requestAnimationFrame(follow);
    };
    audio.addEventListener("play", () => {
      for (const other of players.values()) if (other.audio !== audio) other.audio.pause();
      requestAnimationFrame(follow);
    });
    audio.addEventListener("timeupdate", () => {
      stop();
      draw();
    });
    audio.addEventListener("pause", () => (until = Infinity));
    const refused = (error) => {
      let note = figure.querySelector("[role=status]");
      if (!note) {
        note = document.createElement("p");
        note.setAttribute("role", "status");
        audio.after(note);
      }
      note.textContent = `The browser did not play this sound: ${error.message}`;
    };
    const play = (from, to) => {
      audio.pause();
      audio.currentTime = from;
      return audio.play().then(() => (until = to), (error) => error.name === "AbortError" || refused(error));
    };
    return { audio, play };
  };
  const reachable = (figure, play) => {
    for (const word of figure.querySelectorAll(".said")) word.addEventListener("click", () => play(...reach(word)));
    const words = [...figure.querySelectorAll(".said:not(.rest)")];
    words.forEach((word, at) => {
      word.setAttribute("role", "button");
      word.setAttribute("tabindex", at ? "-1" : "0");
      word.setAttribute("aria-label", "Play " + word.querySelector("title").textContent);
      word.addEventListener("keydown", (event) => {
        const next = event.key in TURNS ? words[at + TURNS[event.key]] : null;
        if (event.key === "Enter" || event.key === " ") play(...reach(word));
        else if (event.key in TURNS && next) next.focus();
        else if (!(event.key in TURNS)) return;
        event.preventDefault();
      });
      word.addEventListener("focus", () => {
        for (const other of words) other.setAttribute("tabindex", other === word ? "0" : "-1");
      });
    });
  };
  for (const figure of document.querySelectorAll(".sound")) {
    const audio = figure.querySelector("audio");
    if (!audio) continue;
    players.set(figure.id, player(figure, audio));
    reachable(figure, players.get(figure.id).play);
  }
  for (const link of document.querySelectorAll(".plays a")) {
    const found = players.get(link.hash.slice(1));
    if (!found) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Play";
    button.setAttribute("aria-label", link.getAttribute("aria-label").replace("show", "Play"));
    button.addEventListener("click", () => found.play(...reach(link)));
    link.before(button);
  }
})();
