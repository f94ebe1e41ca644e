import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="00 · Start here")


@app.cell(hide_code=True)
def _():
    import marimo as mo

    from grader import check, device, predict
    from grader.lesson_figures import figure
    from grader.lesson_look import look

    return check, device, figure, look, mo, predict


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # 00 · Start here

    *15 minutes. You need C, a little Python, and no GPU.*

    ## Why

    Five programs multiply the same two matrices on the same chip. All five are right.
    """)
    return


@app.cell(hide_code=True)
def _(figure):
    figure("ladder", "The slowest and the fastest do the same 69 billion multiply-adds. Recorded: H200, 2026-11-29.")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **53 times** lie between the first bar and the last. Not one of the steps changes the arithmetic. They change
    where the numbers come from, how often they are fetched, and who fetches them.

    That is what this course is about. You write the kernels of these steps yourself, in plain CUDA C++, and after
    each one you see what it did to memory.
    """)
    return


@app.cell(hide_code=True)
def _(figure):
    figure("course_map")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## What runs your kernels

    Your CUDA text goes through NVIDIA's own compiler. Then a simulator runs it on this machine: every thread, every
    memory access. It knows more about your kernel than a GPU would tell you. If there is a GPU, the kernel runs there
    as well, and is timed.
    """)
    return


@app.cell(hide_code=True)
def _(device):
    device()
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Something missing? `python3 course.py doctor` in a terminal says what, and what to do about it.

    Every number in this course says where it is from: *measured* here and now, *counted* by the simulator,
    *estimated* from counts, or *recorded* earlier on a device that is named.

    ## Play: who takes which element?

    A CUDA program starts thousands of threads at once. They all run the same function, the *kernel*. They come in
    *blocks* of equal size, and the only thing that tells one thread from another is its number: `blockIdx.x` for the
    block, `threadIdx.x` inside it.

    Move the sliders. The picture shows the kernel that you will find further down, run for real: each square is an
    element of `y`, in the colour of the block that wrote it. Point at a square to see the thread.
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    n_slider = mo.ui.slider(1, 160, value=100, label="elements, n", show_value=True)
    block_slider = mo.ui.slider(8, 64, step=8, value=32, label="threads a block", show_value=True)
    mo.hstack([n_slider, block_slider], justify="start", gap=2, wrap=True)
    return block_slider, n_slider


@app.cell(hide_code=True)
def _(block_slider, double_it_src, look, n_slider):
    by_block = {"grid": f"ceil_div(n, {block_slider.value})", "block": block_slider.value}
    played = look("hello.double_it", double_it_src, by_block, n=n_slider.value)
    played.thread_map("y", f"{-(-n_slider.value // block_slider.value)} blocks for {n_slider.value} elements")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Two things to find: which `n` needs a new block? And how many threads of the last block get no square at all?

    ## Predict

    Type your number into the next cell, in place of `None`, and run it (Ctrl+Enter). The card then offers the same
    line with a time and a seal. Paste it over the old one, and you see whether you were right. A prediction counts
    only as you typed it before: a guess that is wrong and honest teaches more than a right one that was looked up.

    **`n = 1000` elements, 256 threads a block. How many threads does the launch start?**
    """)
    return


@app.cell
def _():
    # exercise: hello.predict
    predict_values = {
        # BEGIN SOLUTION
        "answers": {"threads": 1024},
        "typed": "2026-11-29T12:00:00",
        "seal": "c5785582",
        # STARTER
        # "answers": {"threads": None},  # TODO: a number in place of None
        # END SOLUTION
    }
    return (predict_values,)


@app.cell(hide_code=True)
def _(predict, predict_values):
    predict("hello.predict", predict_values)
    return


@app.cell(hide_code=True)
def _(figure, mo, predict_values):
    caption = "Blocks come whole. The threads too many must keep their hands off memory: that is what the guard is for."
    figure("blocks", caption) if "seal" in predict_values else mo.md("*A picture follows when your prediction is sealed.*")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Write: fix one line

    `double_it` should store `2 * x[i]` in `y[i]`, for each of the `n` elements. It compiles, it runs, and it is wrong
    in one line. The launch is given: `ceil_div(n, 256)` blocks of 256 threads, where `ceil_div` divides and rounds up.

    Edit the text between the quotes. The card below judges it as you type.

    - **Red** says what went wrong, at which line, in which block and thread, and what to try.
    - **Cases** are sizes that your kernel runs with: one element, a full warp of 32, one more, a prime. One is hidden.
    - **Hints** come in three steps: a question, a pointer, nearly the answer.
    """)
    return


@app.cell
def _():
    # exercise: hello.double_it
    double_it_src = r"""
    extern "C" __global__ void double_it(const float* x, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        // BEGIN SOLUTION
        if (i < n) y[i] = 2.0f * x[i];
        // STARTER
        // if (i < n) y[i] = x[i] + 2.0f;  // TODO: twice as much, not two more
        // END SOLUTION
    }
    """
    return (double_it_src,)


@app.cell(hide_code=True)
def _(check, double_it_src):
    check("hello.double_it", double_it_src)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    When the card is green, break your kernel on purpose. It is the quickest way to know the findings before you meet
    them in earnest:

    - Take the guard `if (i < n)` away. The simulator names the line, the block and the lanes that read past the end.
      On a real GPU such a kernel often looks right: what lies behind the array is just somebody else's.
    - Use `threadIdx.x` alone as the index. Every block then works on the same 256 elements, and the card tells you
      which ones nobody wrote.
    - Leave out a semicolon. The compiler's message comes with the line of your text.

    ## Claim check: "an SM of an A100 runs 1536 threads, on 128 lanes"

    You will meet this in tutorials, as the reason for one block size or another. Such numbers are in tables, and a
    table can be asked. An *SM* (streaming multiprocessor) is the part of the chip that a block runs on.
    """)
    return


@app.cell
def _():
    from simt.arch import arch

    chips = {"T4": "sm_75", "A100": "sm_80", "RTX 3090": "sm_86", "H200": "sm_90"}
    [
        {"chip": chip, "threads on an SM": arch(name).max_threads_per_sm, "32-bit float lanes": arch(name).fp32_lanes}
        for chip, name in chips.items()
    ]
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Both numbers are wrong for the A100: it is 2048 threads and 64 lanes. They are right for another chip of the same
    generation, the one in gaming cards. Both chips are called Ampere, and that is how such a number travels from one
    text into the next.

    **What to take away:** a limit belongs to an architecture (`sm_80`), not to a brand name. In this course every
    limit names its source.

    ## Reflect

    The simulator runs your kernel on a CPU, far slower than any GPU would. Why can it still tell you how to
    make the kernel faster?

    /// details | An answer
    Most of what makes a kernel slow can be counted, and a count does not depend on who runs it. How many bytes does a
    warp ask for, from how many places? How often do threads wait for one another? Those numbers are the same here and
    on an H200; where the hardware has a counter for them, this course's were compared with it. What cannot be counted
    is time itself. So a goal here reads "at most 4 sectors a request", and not "at most 3 milliseconds", unless there
    is a GPU to measure on.
    ///

    ### Where next

    Lesson 01 maps threads to elements in earnest: in two dimensions, with rows that are longer than they look, and
    with fewer threads than elements.

    What this course leaves out (host code, streams, several GPUs), and where to learn it, is in `lessons/left_out.md`.
    """)
    return


if __name__ == "__main__":
    app.run()
