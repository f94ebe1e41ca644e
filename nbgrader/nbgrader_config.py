"""nbgrader's configuration for this course. Run nbgrader in this folder: `cd nbgrader && nbgrader generate_assignment …`.

Two of our preprocessors stand in place of nbgrader's ClearSolutions (which knows no CUDA) and Execute (which runs a
student's Python); two more mend what nbgrader makes of strange cells and of speed that nobody measured.
`grader.nbgrader_plugin` says what each does; docs/instructor.md walks through a course.
"""

import warnings

# nbgrader 0.9.6 makes SQLAlchemy warn three times for each student; nothing is wrong, and what is would not be seen.
warnings.filterwarnings("ignore", "Object of type <Submitted", module=r"nbgrader\.api")

c = get_config()  # noqa: F821 - nbgrader defines it

c.CourseDirectory.course_id = "warpwise"

c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.IncludeHeaderFooter",
    "nbgrader.preprocessors.LockCells",
    "grader.nbgrader_plugin.ClearAnswers",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]

c.Autograde.sanitize_preprocessors = [
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.DeduplicateIds",
    "grader.nbgrader_plugin.ForgetStrangers",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "grader.nbgrader_plugin.GradeAnswers",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "grader.nbgrader_plugin.LeaveUnmeasured",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
# Feedback opens without a network.
c.GenerateFeedback.exporter_class = "grader.nbgrader_plugin.FeedbackPage"
# Names with commas stay one column, and nothing is exported while points for speed are open.
c.ExportApp.plugin_class = "grader.nbgrader_plugin.GradesTable"
# A test cell that a student deleted comes back, and counts.
c.OverwriteCells.add_missing_cells = True
# A verdict card is longer than a printed line; cut, it would be no HTML any more.
c.LimitOutput.max_lines = 5000
c.LimitOutput.max_traceback = 100
